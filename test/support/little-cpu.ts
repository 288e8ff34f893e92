/** A process with a fifth of a core: by a control group, or where there is none by `nice` beside four processes that spin. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'

const [QUOTA_US, PERIOD_US] = [20_000, 100_000]
const SPINNING = 4

export type LittleCpu = {
  /** In which way. */
  readonly how: string
  /** After the process has ended. */
  readonly end: () => void
}

export function littleCpu(pid: number): LittleCpu {
  return byControlGroup(pid) ?? byPriority(pid)
}

function byControlGroup(pid: number): LittleCpu | undefined {
  const [first, second] = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup']
  const isFirst = existsSync(join(first, 'cpu.cfs_quota_us'))
  const folder = join(isFirst ? first : second, `svc-little-cpu-${pid}`)
  const limits: [string, string][] = isFirst
    ? [
        ['cpu.cfs_period_us', String(PERIOD_US)],
        ['cpu.cfs_quota_us', String(QUOTA_US)],
      ]
    : [['cpu.max', `${QUOTA_US} ${PERIOD_US}`]]
  try {
    mkdirSync(folder)
  } catch {
    return undefined
  }
  try {
    for (const [file, value] of limits) writeFileSync(join(folder, file), value)
    writeFileSync(join(folder, 'cgroup.procs'), String(pid))
    return { how: 'a control group with a fifth of a core', end: () => rmdirSync(folder) }
  } catch {
    rmdirSync(folder)
    return undefined
  }
}

function byPriority(pid: number): LittleCpu {
  setPriority(pid, 19)
  const spinning = Array.from({ length: SPINNING }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  return {
    how: 'the lowest priority beside four processes that spin',
    end() {
      for (const child of spinning) child.kill('SIGKILL')
    },
  }
}
