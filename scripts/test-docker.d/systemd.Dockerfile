# A host: systemd as process 1, three people, and what the package depends on, so that it can be installed without a network.
# Built from scripts.
FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends dbus dbus-user-session libpam-systemd libpcre2-8-0 libsodium23 libsqlite3-0 \
        libstdc++6 python3 systemd systemd-sysv \
    && rm -rf /var/lib/apt/lists/* \
    && systemctl mask systemd-udevd.service systemd-udevd-kernel.socket systemd-udevd-control.socket systemd-networkd.service \
        systemd-resolved.service systemd-timesyncd.service getty.target console-getty.service \
    && useradd --create-home --uid 1000 alice && useradd --uid 1001 bob && useradd --uid 1002 mallory
COPY lib/client.py test-docker.d/commands.py /
STOPSIGNAL SIGRTMIN+3
# Credentials come to services by a mount that spreads from a name space of its own; a container's mounts spread nowhere at first.
CMD ["sh", "-c", "mount --make-rshared / && exec /lib/systemd/systemd --show-status=no"]
