/** `svc completion <shell>`: what can be typed next, read off the table of commands into a script for the shell. */
import type { Command, Option, Run } from '../command.ts'
import { argument } from '../options.ts'

export const completionOf =
  (
    commands: readonly Command[],
    groups: Readonly<Record<string, string>>,
    everywhere: readonly Option[],
  ): Run =>
  async (world, call) => {
    const places = placesIn(commands, groups, everywhere)
    const script = SCRIPTS[argument(call, 'shell') as keyof typeof SCRIPTS](places)
    world.print({ script }, { text: script })
  }

type Word = readonly [word: string, about: string]
/** A place on the command line, as the words before it; '' is the beginning. */
type Place = { readonly after: string; readonly words: readonly Word[] }

function placesIn(
  commands: readonly Command[],
  groups: Readonly<Record<string, string>>,
  everywhere: readonly Option[],
): Place[] {
  const flags = (options: readonly Option[]): Word[] =>
    options.map(({ long, summary }) => [`--${long}`, summary])
  const single = commands.filter(({ path }) => !path.includes(' '))
  return [
    {
      after: '',
      words: [
        ...single.map(({ path, summary }): Word => [path, summary]),
        ...Object.entries(groups),
        ...flags(everywhere),
        ['--version', 'Print the version'],
        ['--skill-prompt', 'Print instructions for AI agents'],
      ],
    },
    ...Object.keys(groups).map((group) => ({
      after: group,
      words: commands
        .filter(({ path }) => path.startsWith(`${group} `))
        .map(({ path, summary }): Word => [path.slice(group.length + 1), summary]),
    })),
    ...commands.map(({ path, options = [], arguments: wanted = [] }) => ({
      after: path,
      words: [
        ...wanted.flatMap(({ choices = [], summary }) => choices.map((choice): Word => [choice, summary])),
        ...flags(options),
        ...flags(everywhere),
      ],
    })),
  ]
}

const SCRIPTS = { bash, zsh, fish, powershell }

/** The words typed so far without options and what belongs to them, at most two: every command is found by them. */
function bash(places: readonly Place[]): string {
  return `# svc completion for bash. Install: svc completion bash > ~/.local/share/bash-completion/completions/svc
_svc() {
  local current="\${COMP_WORDS[COMP_CWORD]}" place="" next="" word count=0
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    next="\${place:+$place }$word"
    case "$next" in
      ${places.flatMap(({ after }) => (after === '' ? [] : [`"${after}"`])).join('|')}) place="$next" ;;
    esac
  done
  local words=""
  case "$place" in
${places.map(({ after, words }) => `    "${after}") words="${words.map(([word]) => word).join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _svc svc
`
}

function zsh(places: readonly Place[]): string {
  const described = ([word, about]: Word) =>
    `'${word}:${about.replaceAll("'", `'\\''`).replaceAll(':', '\\:')}'`
  return `#compdef svc
# svc completion for zsh. Install: svc completion zsh > "\${fpath[1]}/_svc"
_svc() {
  local place="" next="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && continue
    next="\${place:+$place }$word"
    case "$next" in
      ${places.flatMap(({ after }) => (after === '' ? [] : [`"${after}"`])).join('|')}) place="$next" ;;
    esac
  done
  local -a candidates
  case "$place" in
${places.map(({ after, words }) => `    "${after}") candidates=(${words.map(described).join(' ')}) ;;`).join('\n')}
  esac
  _describe 'svc' candidates || _files
}
if [ "$funcstack[1]" = "_svc" ]; then _svc "$@"; else compdef _svc svc; fi
`
}

function fish(places: readonly Place[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const known = places.flatMap(({ after }) => (after === '' ? [] : [quoted(after)])).join(' ')
  const lines = places.flatMap(({ after, words }) =>
    words.map(([word, about]) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
      return `complete -c svc -n '__svc_at ${after.replaceAll(' ', '\\ ')}' ${what} -d ${quoted(about)}`
    }),
  )
  return `# svc completion for fish. Install: svc completion fish > ~/.config/fish/completions/svc.fish
function __svc_at
  set -l place ""
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l next (string trim -- "$place $word")
    contains -- "$next" ${known}; and set place $next
  end
  test "$place" = "$argv"
end
complete -c svc -f
${lines.join('\n')}
`
}

function powershell(places: readonly Place[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
  return `# svc completion for PowerShell. Install: svc completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName svc -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $places = @{
${places.map(({ after, words }) => `    ${quoted(after)} = @(${words.map(([word, about]) => `@(${quoted(word)}, ${quoted(about)})`).join(', ')})`).join('\n')}
  }
  $place = ''
  $typed = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition })
  foreach ($element in $typed) {
    $word = $element.ToString()
    if ($word.StartsWith('-')) { continue }
    $next = ($place + ' ' + $word).Trim()
    if ($places.ContainsKey($next)) { $place = $next }
  }
  $places[$place] | Where-Object { $_[0] -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
  }
}
`
}
