/**
 * How long, in milliseconds, nothing else could run while some work ran, to its very end. Counted is what the thread itself
 * has used: what else the machine does at the time does not matter.
 */
export async function longestPause(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let before = process.threadCpuUsage()
  const look = () => {
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
    before = process.threadCpuUsage()
  }
  const timer = setInterval(look, 1)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  look()
  return longest
}
