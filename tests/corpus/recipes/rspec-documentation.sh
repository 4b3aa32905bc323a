# tool: rspec
# how: 3,000 examples with documentation, two fail for one reason
# decisive: NoMethodError:
# decisive: undefined method `upcase' for nil:NilClass
# decisive: name_spec.rb:2
prepare() {
cat > name_spec.rb <<'X'
def shown(user)
  user[:name].upcase
end
RSpec.describe "names" do
  60.times do |group|
    describe "group #{group}" do
      50.times do |n|
        it "shows user #{n} without error" do
          warn "deprecated: error format" if n == 10
          user = group == 22 && n > 47 ? {} : { name: "a#{n}" }
          expect(shown(user)).to eq("A#{n}")
        end
      end
    end
  end
end
X
}
run() { rspec --format documentation --no-color name_spec.rb; }
