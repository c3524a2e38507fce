import Glibc
import KuraCommand

exit(Kura.main())
