#!/bin/sh
# format.sh: format the C files as PostgreSQL does.
#
#   sh test/format.sh [--check | --typedefs] [FILE...]
#
# Without FILE, all of src.  --check changes nothing, and fails if something would
# be changed.  --typedefs rewrites src/typedefs.list, from a build with gcc -g, after
# types were added or removed.  The formatter is in Debian's package pg-bsd-indent.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
mode=write
case ${1:-} in
    --check) mode=check; shift ;;
    --typedefs) mode=typedefs; shift ;;
esac
[ $# -gt 0 ] || set -- "$top"/src/*.[ch] "$top"/src/hub/*.[ch]
types=$top/src/typedefs.list

if [ "$mode" = typedefs ]; then
    ls "$top"/src/*.o >/dev/null 2>&1 || { echo "There is no build to read: run make first." >&2; exit 1; }
    for object in "$top"/src/*.o "$top"/src/hub/*.o; do
        objdump -Wi "$object"
    done 2>/dev/null | awk '
        /DW_TAG_/ { is_typedef = /DW_TAG_typedef/ }
        is_typedef && /DW_AT_name/ { sub(/.*: /, ""); print $1 }' | LC_ALL=C sort -u >"$types"
    exit 0
fi

command -v pg_bsd_indent >/dev/null || { echo "Install the package pg-bsd-indent." >&2; exit 1; }

# The formatter's output, with what later versions of it do better: no tab before
# the star of a return type, and one more tab where an initial value continues on the next line.
format() {
    pg_bsd_indent -bad -bap -bbb -bc -bl -cli1 -cp33 -cdb -nce -d0 -di12 -nfc1 -i4 -l79 \
        -lp -lpl -nip -npro -sac -tpg -ts4 "-U$types" <"$1" | perl -ne '
            s/^([A-Za-z_][\w ]*?)[ \t]+\*$/$1 */;
            my ($indent) = /^(\t*)/;
            $_ = "\t$_" if $open && $indent eq $level && /\S/;
            ($open, $level) = (1, $indent) if !$open && /^\t+(?!case)\w[\w \t*]*\w[ \t*]+\w+ = ?[^;{]*$/;
            $open = 0 if /;$/;
            print;'
}

changed=0
new=$(mktemp) || exit 1
trap 'rm -f "$new"' EXIT
for file in "$@"; do
    format "$file" >"$new" || exit 1
    cmp -s "$new" "$file" && continue
    changed=$((changed + 1))
    case $mode in
        check) diff -u "$file" "$new" ;;
        write) cat "$new" >"$file"; echo "changed: $file" ;;
    esac
done
[ "$mode" = write ] || [ "$changed" -eq 0 ]
