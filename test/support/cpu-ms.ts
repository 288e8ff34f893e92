/** The CPU that this thread spends on a piece of work, in milliseconds: the same on a machine that is busy with others. */
export function cpuMs(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
