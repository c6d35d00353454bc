#!/bin/sh
# usage: packaging/check-java-bundle.sh BUNDLE.zip
# Checks that the bundle has what Maven Central asks for: for each artifact a POM that says what it is, whose, under which
# licence and where its source is; sources and Javadoc beside each jar; checksums; and nothing else.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unzip -q "$1" -d "$work"
failed=0
complain() {
    echo "$1" >&2
    failed=1
}
poms=$(find "$work" -name '*.pom')
[ -n "$poms" ] || complain 'there is no artifact in the bundle'
for pom in $poms; do
    name=$(basename "$pom" .pom)
    for element in name description; do
        grep -q "<$element>" "$pom" || complain "$name: no <$element>"
    done
    # The others have these from their parent, which is in the bundle.
    source=$pom
    if grep -q '<parent>' "$pom"; then
        source=$(find "$work" -name 'taskhold-parent-*.pom')
        [ -n "$source" ] || { complain "$name: its parent is not in the bundle"; continue; }
    fi
    for element in url licenses developers scm; do
        grep -q "<$element[ >]" "$source" || complain "$name: no <$element>"
    done
    grep -q '<packaging>pom</packaging>' "$pom" && continue
    for kind in '' -sources -javadoc; do
        [ -f "${pom%.pom}$kind.jar" ] || complain "$name: no $name$kind.jar"
    done
done
for file in $(find "$work" -type f ! -name '*.md5' ! -name '*.sha1' ! -name '*.asc'); do
    for sum in md5 sha1; do
        [ "$(cut -d' ' -f1 "$file.$sum")" = "$(${sum}sum "$file" | cut -d' ' -f1)" ] ||
            complain "$(basename "$file"): the $sum does not fit"
    done
    case $file in
    *.pom | *.jar) ;;
    *) complain "$(basename "$file") does not belong there" ;;
    esac
done
[ "$failed" -eq 0 ] || exit 1
echo "$(echo "$poms" | wc -l) artifacts, as Maven Central takes them: $1"
