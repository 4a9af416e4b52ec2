package project

import "strings"

// detectJava knows Maven and Gradle, and prefers the wrapper that a project
// brings: it names the version.
func detectJava(f folder) (Part, bool) {
	p := Part{Language: "Java", Packages: []string{"default-jdk-headless"}, Trusted: []string{"**/src/test/**"}}
	p.Allow = withDomain("*.maven.org", "*.maven.apache.org")
	if p.Marker = f.has("pom.xml"); p.Marker != "" {
		p.Tool, p.Validation = "maven", "mvn -q -B verify"
		if f.has("mvnw") != "" {
			p.Validation = "sh ./mvnw -q -B verify"
		} else {
			p.Packages = append(p.Packages, "maven")
		}
		return p, true
	}
	p.Marker = f.has("build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle")
	p.Tool, p.Validation = "gradle", "gradle --no-daemon check"
	p.Allow = append(p.Allow, withDomain("*.gradle.org")...)
	if f.has("gradlew") != "" {
		p.Validation = "sh ./gradlew --no-daemon check"
	} else {
		p.Packages = append(p.Packages, "gradle")
	}
	return p, p.Marker != ""
}

func detectRuby(f folder) (Part, bool) {
	p := Part{
		Language: "Ruby", Tool: "bundler", Marker: f.has("Gemfile"),
		Allow:    withDomain("*.rubygems.org"),
		Packages: []string{"ruby-full", "bundler", "build-essential"},
		Trusted:  []string{"spec/**", "test/**"},
	}
	switch {
	case f.has(".rspec") != "" || f.hasDir("spec"):
		p.Validation = "bundle install && bundle exec rspec"
	case f.has("Rakefile") != "":
		p.Validation = "bundle install && bundle exec rake test"
	default:
		p.Missing = "there is no spec folder and no Rakefile"
	}
	return p, p.Marker != ""
}

func detectPHP(f folder) (Part, bool) {
	p := Part{
		Language: "PHP", Tool: "composer", Marker: f.has("composer.json"),
		Allow:    append(withDomain("*.packagist.org"), "@github"),
		Packages: []string{"php-cli", "php-xml", "php-mbstring", "composer"},
		Trusted:  []string{"tests/**"},
	}
	var about struct {
		Scripts map[string]any `json:"scripts"`
	}
	f.json(p.Marker, &about)
	var test string
	switch {
	case about.Scripts["test"] != nil:
		test = "composer test"
	case f.has("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml") != "":
		test = "vendor/bin/phpunit"
	default:
		p.Missing = "composer.json has no test script and there is no phpunit.xml"
		return p, p.Marker != ""
	}
	p.Validation = strings.Join([]string{"composer install --no-interaction", test}, " && ")
	return p, p.Marker != ""
}
