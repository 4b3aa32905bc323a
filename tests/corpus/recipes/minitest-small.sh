# tool: ruby, minitest
# how: thirty tests, one expects another order
# decisive: Expected: ["a", "b", "C"]
# decisive: test_names.rb:7
prepare() {
cat > test_names.rb <<'X'
require "minitest/autorun"
def sorted(names) = names.sort

class TestNames < Minitest::Test
  29.times { |n| define_method("test_numbers_#{n}") { assert_equal [n, n + 1], sorted([n + 1, n]) } }
  def test_case_does_not_matter
    assert_equal %w[a b C], sorted(%w[C b a])
  end
end
X
}
run() { ruby test_names.rb --verbose --seed 7; }
