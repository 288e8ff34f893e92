/** `svc completion <shell>`: a completion script, generated from the table of commands. */
import type { Command, Option, Run } from '../command.ts'
import { argument } from '../options.ts'

/** Not imported from commands.ts, which imports this file. */
type Tree = {
  readonly commands: readonly Command[]
  readonly groups: Readonly<Record<string, string>>
  readonly globalOptions: readonly Option[]
  readonly rootOptions: readonly Option[]
}

export const completionFor =
  (tree: Tree): Run =>
  async (ctx, input) => {
    const script = SCRIPTS[argument(input, 'shell') as keyof typeof SCRIPTS](completionPositions(tree))
    ctx.print({ script }, { text: script })
  }

type Word = readonly [word: string, about: string]
/** A position on the command line: the words before it ('' is the start), and what can follow. */
type Position = { readonly after: string; readonly words: readonly Word[] }

function completionPositions({ commands, groups, globalOptions, rootOptions }: Tree): Position[] {
  const flags = (options: readonly Option[]): Word[] =>
    options.map(({ long, summary }) => [`--${long}`, summary])
  const single = commands.filter(({ path }) => !path.includes(' '))
  return [
    {
      after: '',
      words: [
        ...single.map(({ path, summary }): Word => [path, summary]),
        ...Object.entries(groups),
        ...flags([...globalOptions, ...rootOptions]),
      ],
    },
    ...groupsIn(commands).map((group) => ({ after: group, words: wordsAfter(group, commands) })),
    ...commands.map(({ path, options = [], arguments: wanted = [] }) => ({
      after: path,
      words: [
        ...wordsAfter(path, commands),
        ...wanted.flatMap(({ choices = [], summary }) => choices.map((choice): Word => [choice, summary])),
        ...flags([...options, ...globalOptions]),
      ],
    })),
  ]
}

/** `apps`, and `apps checks` unless that is a command itself. */
function groupsIn(commands: readonly Command[]): string[] {
  const own = new Set(commands.map(({ path }) => path))
  const before = commands.flatMap(({ path }) =>
    path.split(' ').map((_, at, all) => all.slice(0, at).join(' ')),
  )
  return [...new Set(before)].filter((group) => group !== '' && !own.has(group))
}

const wordsAfter = (before: string, commands: readonly Command[]): Word[] => {
  const paths = commands.filter(({ path }) => path.startsWith(`${before} `))
  const next = (path: string) => path.slice(before.length + 1).split(' ', 1)[0]!
  const own = (word: string) => paths.find(({ path }) => path === `${before} ${word}`)
  return [...new Map(paths.map(({ path, summary }) => [next(path), own(next(path))?.summary ?? summary]))]
}

const SCRIPTS = { bash, zsh, fish, powershell }

/** The script takes the words typed so far, without options; the longest known prefix of them is the position. */
function bash(positions: readonly Position[]): string {
  return `# svc completion for bash. Install: svc completion bash > ~/.local/share/bash-completion/completions/svc
_svc() {
  local current="\${COMP_WORDS[COMP_CWORD]}" position="" next="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    next="\${position:+$position }$word"
    case "$next" in
      ${positions.flatMap(({ after }) => (after === '' ? [] : [`"${after}"`])).join('|')}) position="$next" ;;
    esac
  done
  local words=""
  case "$position" in
${positions.map(({ after, words }) => `    "${after}") words="${words.map(([word]) => word).join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _svc svc
`
}

function zsh(positions: readonly Position[]): string {
  const describeContext = ([word, about]: Word) =>
    `'${word}:${about.replaceAll("'", `'\\''`).replaceAll(':', '\\:')}'`
  return `#compdef svc
# svc completion for zsh. Install: svc completion zsh > "\${fpath[1]}/_svc"
_svc() {
  local position="" next="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && continue
    next="\${position:+$position }$word"
    case "$next" in
      ${positions.flatMap(({ after }) => (after === '' ? [] : [`"${after}"`])).join('|')}) position="$next" ;;
    esac
  done
  local -a candidates
  case "$position" in
${positions.map(({ after, words }) => `    "${after}") candidates=(${words.map(describeContext).join(' ')}) ;;`).join('\n')}
  esac
  _describe 'svc' candidates || _files
}
if [ "$funcstack[1]" = "_svc" ]; then _svc "$@"; else compdef _svc svc; fi
`
}

function fish(positions: readonly Position[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const known = positions.flatMap(({ after }) => (after === '' ? [] : [quoted(after)])).join(' ')
  const lines = positions.flatMap(({ after, words }) =>
    words.map(([word, about]) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
      return `complete -c svc -n '__svc_at ${after.replaceAll(' ', '\\ ')}' ${what} -d ${quoted(about)}`
    }),
  )
  return `# svc completion for fish. Install: svc completion fish > ~/.config/fish/completions/svc.fish
function __svc_at
  set -l position ""
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l next (string trim -- "$position $word")
    contains -- "$next" ${known}; and set position $next
  end
  test "$position" = "$argv"
end
complete -c svc -f
${lines.join('\n')}
`
}

function powershell(positions: readonly Position[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
  return `# svc completion for PowerShell. Install: svc completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName svc -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $positions = @{
${positions.map(({ after, words }) => `    ${quoted(after)} = @(${words.map(([word, about]) => `@(${quoted(word)}, ${quoted(about)})`).join(', ')})`).join('\n')}
  }
  $position = ''
  $typed = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition })
  foreach ($element in $typed) {
    $word = $element.ToString()
    if ($word.StartsWith('-')) { continue }
    $next = ($position + ' ' + $word).Trim()
    if ($positions.ContainsKey($next)) { $position = $next }
  }
  $positions[$position] | Where-Object { $_[0] -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
  }
}
`
}
