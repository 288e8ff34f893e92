/** A shell that lives as long as a test: what one block sets, the next one has. */
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { endWithUs } from './end-with-us.ts'
import type { Env } from './process.ts'

export type Shell = {
  /** Runs a block as if it was pasted; returns what it printed, errors included, and fails if one of its commands did. */
  readonly paste: (block: string) => Promise<string>
  readonly close: () => void
}

type ShellOptions = {
  readonly cwd: string
  readonly env: Env
  /** For blocks, as files. */ readonly folder: string
}

export function openShell({ cwd, env, folder }: ShellOptions): Shell {
  const bash = spawn('bash', ['--noprofile', '--norc'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const letGo = endWithUs(bash.pid!)
  const state = { output: '', hasEnded: false }
  let heard = () => {}
  bash.stdout.setEncoding('utf8').on('data', (text: string) => {
    state.output += text
    heard()
  })
  bash.once('close', () => {
    state.hasEnded = true
    letGo()
    heard()
  })
  bash.stdin.on('error', () => {})
  bash.stdin.write('exec 2>&1\nset -euo pipefail\n')

  let count = 0
  return {
    async paste(block) {
      count += 1
      const file = join(folder, `block-${count}.sh`)
      await writeFile(file, block)
      const mark = `@@ block ${count} has ended @@\n`
      // From a file, so that a command which reads its input does not take the next ones.
      bash.stdin.write(`. '${file}' </dev/null\nprintf '\\n%s' '${mark}'\n`)
      while (!state.output.includes(mark) && !state.hasEnded)
        await new Promise<void>((resolve) => (heard = resolve))
      const printed = state.output.split(mark)[0]!
      state.output = state.output.slice(printed.length + mark.length)
      if (state.hasEnded) throw new Error(`It failed:\n${block}\n${printed}`)
      return printed
    },
    close: () => void bash.kill('SIGKILL'),
  }
}
