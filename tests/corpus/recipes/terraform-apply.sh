# tool: terraform apply
# how: 200 resources are made, the script of one fails
# decisive: migrate: schema version 41 is newer than 39
# decisive: terraform_data.step[117]
prepare() {
cat > main.tf <<'X'
resource "terraform_data" "step" {
  count = 200
  input = "step ${count.index}"
  provisioner "local-exec" {
    command = count.index == 117 ? "echo 'migrate: schema version 41 is newer than 39' >&2; exit 4" : "echo step ${count.index} has no errors"
  }
}
resource "terraform_data" "end" {
  input = [for step in terraform_data.step : step.id]
}
X
terraform init -no-color > /dev/null
}
run() { terraform apply -auto-approve -no-color -parallelism=4; }
