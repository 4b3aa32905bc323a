# tool: terraform validate
# how: a module call with a misspelt argument
# decisive: An argument named "colour" is not expected here.
# decisive: on main.tf line 9
prepare() {
mkdir paint; printf 'variable "color" {\n  type = string\n}\nresource "terraform_data" "pot" {\n  input = var.color\n}\n' > paint/main.tf
cat > main.tf <<'X'
locals {
  rooms = ["hall", "bath"]
}

module "paint" {
  source   = "./paint"
  for_each = toset(local.rooms)
  color    = "red"
  colour   = "blue"
}
X
terraform init -no-color > /dev/null
}
run() { terraform validate -no-color; }
