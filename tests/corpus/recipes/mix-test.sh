# tool: elixir, ExUnit
# how: a suite of twelve tests, one with another map than expected
# decisive: left:  %{count: 3, name: "pear"}
# decisive: stock_test.exs:8
prepare() {
cat > stock_test.exs <<'X'
ExUnit.start(seed: 0, trace: true, colors: [enabled: false])

defmodule StockTest do
  use ExUnit.Case

  test "a pear is taken" do
    stock = %{name: "pear", count: 4}
    assert %{stock | count: stock.count - 1} == %{name: "pear", count: 2}
  end

  for n <- 1..11 do
    test "number #{n} is positive" do
      assert unquote(n) > 0
    end
  end
end
X
}
run() { elixir stock_test.exs; }
