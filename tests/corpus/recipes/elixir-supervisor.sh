# tool: elixir, Logger
# how: a supervised process that crashes on one message; its supervisor gives up after it restarted it again and again
# decisive: no function clause matching in Stock.Server.handle_cast/2
# decisive: {:take, "pear", -1}
prepare() {
cat > stock.exs <<'X'
require Logger
Logger.configure_backend(:console, colors: [enabled: false], device: :standard_error)
defmodule Stock.Server do
  use GenServer
  require Logger
  def start_link(_), do: GenServer.start_link(__MODULE__, %{"pear" => 10_000}, name: __MODULE__)
  def init(stock), do: {:ok, stock}
  def handle_cast({:take, name, n}, stock) when n >= 0 do
    Logger.info("took #{n} of #{name}, errors: 0")
    {:noreply, Map.update(stock, name, 0, &(&1 - n))}
  end
end
{:ok, sup} = Supervisor.start_link([Stock.Server], strategy: :one_for_one, max_restarts: 20, max_seconds: 60)
Process.unlink(sup)
ref = Process.monitor(sup)
for n <- 1..8000, do: GenServer.cast(Stock.Server, {:take, "pear", rem(n, 3)})
for _ <- 1..40 do
  GenServer.cast(Stock.Server, {:take, "pear", -1})
  Process.sleep(15)
end
receive do {:DOWN, ^ref, _, _, reason} -> Logger.error("supervisor ended: #{inspect(reason)}") after 1000 -> :ok end
Logger.flush()
System.halt(1)
X
}
run() { elixir stock.exs 2>&1; }
