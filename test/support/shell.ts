/** A shell that lives as long as a test: what one block sets, the next one has. */
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { endWithUs, type Env } from './process.ts'

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
  let output = ''
  let heard = () => {}
  let hasEnded = false
  bash.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    heard()
  })
  bash.once('close', () => {
    hasEnded = true
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
      while (!output.includes(mark) && !hasEnded) await new Promise<void>((resolve) => (heard = resolve))
      const printed = output.split(mark)[0]!
      output = output.slice(printed.length + mark.length)
      if (hasEnded) throw new Error(`It failed:\n${block}\n${printed}`)
      return printed
    },
    close: () => void bash.kill('SIGKILL'),
  }
}
