# tool: mvn -X
# how: a build on a machine without a way to its repository
# decisive: Plugin org.apache.maven.plugins:maven-resources-plugin
# decisive: has not been downloaded from it before
prepare() {
mkdir -p src/main/java; echo 'public class A {}' > src/main/java/A.java
cat > pom.xml <<'X'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>com.example</groupId><artifactId>shop</artifactId><version>1.0</version></project>
X
}
run() { mvn -X -o package; }
