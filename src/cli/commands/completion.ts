/** `svc completion <shell>`: a script that asks `svc __complete` what can follow. */
import type { Run } from '../command.ts'
import { argument } from '../options.ts'

export const printCompletion: Run = async (ctx, input) => {
  const script = SCRIPTS[argument(input, 'shell') as keyof typeof SCRIPTS]
  ctx.print({ script }, { text: script })
}

/** The word under the cursor is passed on with `=` before it: some shells drop an argument that is empty. */
const SCRIPTS = {
  // bash splits words at = and : too. They are put together for svc, and cut off again from what it answers.
  bash: `# svc completion for bash. Install: svc completion bash > ~/.local/share/bash-completion/completions/svc
_svc() {
  local -a words=()
  local word prefix="" candidate i last
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    last=$((\${#words[@]} - 1))
    if ((last >= 0)) && [[ $word == [=:]* || \${COMP_WORDS[i-1]} == [=:]* ]]; then
      prefix="\${words[last]}"
      [[ $word == [=:]* ]] && prefix+="$word"
      words[last]+="$word"
    else
      prefix=""
      words+=("$word")
    fi
  done
  last=$((\${#words[@]} - 1))
  words[last]="=\${words[last]}"
  COMPREPLY=()
  while IFS=$'\\t' read -r candidate _; do
    COMPREPLY+=("\${candidate#"$prefix"}")
  done < <("\${COMP_WORDS[0]}" __complete "\${words[@]}" 2>/dev/null)
}
complete -o default -F _svc svc
`,
  zsh: `#compdef svc
# svc completion for zsh. Install: svc completion zsh > "\${fpath[1]}/_svc"
_svc() {
  local -a candidates
  local line tab=$'\\t'
  for line in "\${(@f)$("\${words[1]}" __complete "\${(@Q)words[2,CURRENT-1]}" "=\${(Q)words[CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && candidates+=("\${\${line%%$tab*}//:/\\\\:}:\${line#*$tab}")
  done
  if (( \${#candidates} )); then _describe -V 'svc' candidates; else _files; fi
}
if [ "$funcstack[1]" = "_svc" ]; then _svc "$@"; else compdef _svc svc; fi
`,
  fish: `# svc completion for fish. Install: svc completion fish > ~/.config/fish/completions/svc.fish
function __svc_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  set -l found ($typed[1] __complete $typed[2..-1] "=$current" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c svc -f -k -a '(__svc_complete)'
`,
  powershell: `# svc completion for PowerShell. Install: svc completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName svc -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $typed = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  & $commandAst.CommandElements[0].ToString() __complete @typed "=$wordToComplete" 2>$null | ForEach-Object {
    $word, $about = $_ -split "\`t", 2
    if (-not $about) { $about = $word }
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $about)
  }
}
`,
}
