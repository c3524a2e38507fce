KuraBench.run()
