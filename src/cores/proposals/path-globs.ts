/**
 * Whether a path fits a glob: `*` and `?` within a name, `**` for any number of folders. Without regular expressions, whose
 * work some globs would let grow beyond any time; and without regard to case, as some file systems are.
 */

/** A glob without a slash fits a name in any folder; one that fits a folder fits whatever lies in it. */
export function fitsGlob(path: string, glob: string): boolean {
  const names = keyOf(path).split('/')
  const parts = keyOf(glob)
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  const pattern = parts.length === 1 && !glob.endsWith('/') ? ['**', ...parts] : parts
  if (pattern.length === 0) return false
  const isOneOf = (path: readonly string[]) =>
    path.some((_, n) => fits(path.slice(0, n + 1), pattern, '**', fitsName))
  return isOneOf(names) || isOneOf(names.map(withoutEnd))
}

/** Windows leaves dots and blanks at the end of a name away. */
const withoutEnd = (name: string): string => name.replace(/[. ]+$/, '')

const keyOf = (text: string): string => text.normalize('NFKC').toLowerCase()

const fitsName = (name: string, part: string): boolean =>
  fits([...name], [...part], '*', (character, sign) => sign === '?' || sign === character)

/** Every star first takes nothing, and one more each time that the rest does not fit: only the last one is tried again. */
function fits(
  text: readonly string[],
  pattern: readonly string[],
  star: string,
  isOne: (text: string, sign: string) => boolean,
): boolean {
  let [at, sign] = [0, 0]
  let retry: { at: number; sign: number } | undefined
  while (at < text.length) {
    if (pattern[sign] === star) {
      retry = { at, sign: ++sign }
    } else if (sign < pattern.length && isOne(text[at]!, pattern[sign]!)) {
      at++
      sign++
    } else if (retry) {
      at = ++retry.at
      sign = retry.sign
    } else return false
  }
  return pattern.slice(sign).every((rest) => rest === star)
}
