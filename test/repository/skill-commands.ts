/** The command lines of `svc` that stand in a text for agents, as the words that a shell would make of them. */

/** From fenced blocks of shell, wherever in a line a command begins, and from inline code that begins with one. */
export function commandLines(markdown: string): string[][] {
  const fences = [...markdown.matchAll(/^ *```(?:sh)?\n([^]*?)^ *```$/gm)].map(([, code = '']) => code)
  const inline = [...markdown.replaceAll(/^ *```[^]*?^ *```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(
    ([, code = '']) => code,
  )
  return [
    ...fences.flatMap((code) => code.replaceAll('\\\n', ' ').split('\n')).flatMap(commandsIn),
    ...inline.flatMap(commandsIn),
  ]
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
