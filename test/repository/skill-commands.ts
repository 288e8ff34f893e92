/** The command lines of `svc` that stand in a text, as the words that a shell would make of them. */
import { ROOT_OPTIONS } from '../../src/cli/command-table.ts'
import { parse } from '../../src/cli/parse.ts'

/** From fenced blocks of shell, wherever in a line a command begins, and from inline code that begins with one. */
export function commandLines(markdown: string): string[][] {
  const inline = [...markdown.replaceAll(/^ *```[^]*?^ *```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(
    ([, code = '']) => code,
  )
  return [...fencedCommandLines(markdown), ...inline.flatMap(commandsIn)]
}

/** Only from fenced blocks: what a page says to type. */
export const fencedCommandLines = (markdown: string): string[][] =>
  [...markdown.matchAll(/^ *```(?:sh)?\n([^]*?)^ *```$/gm)]
    .flatMap(([, code = '']) => code.replaceAll('\\\n', ' ').split('\n'))
    .flatMap(commandsIn)

/** What the client would say against it before it asks anybody. */
export function mistakes(words: readonly string[]): string[] {
  if (words.length === 1 && ROOT_OPTIONS.some(({ long }) => words[0] === `--${long}`)) return []
  try {
    parse(words)
    return []
  } catch (error) {
    return [`svc ${words.join(' ')}: ${String(error)}`]
  }
}

/** `./bin/svc` begins one as well; `claude mcp add … svc …` only names us. */
const commandsIn = (line: string): string[][] =>
  [...line.matchAll(/(?<=^ *|^\.\/bin\/|\$\(|\|\|? |&& |\) )svc (?=\S)(.*)/g)].map(([, rest = '']) =>
    wordsOf(rest),
  )

const WORD = /^\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|((?:<[\w ]+>|[^\s"'<>|;&()]+)+))/

/** Up to the first thing that is no word: a redirection, a pipe, the end of `$(…)`. */
function wordsOf(text: string): string[] {
  const words: string[] = []
  for (let rest = text, found; (found = WORD.exec(rest)); rest = rest.slice(found[0].length)) {
    words.push(found[1] ?? found[2] ?? found[3] ?? '')
  }
  return words
}
