/** Rounds of the same work in a process of its own: what each took of the clock and of the processor. */
export async function rounds(
  count: number,
  work: () => Promise<void>,
  prepare: () => Promise<void> = async () => {},
): Promise<{ cpuMs: number; ms: number }[]> {
  const measured: { cpuMs: number; ms: number }[] = []
  // The first warms up and does not count.
  for (let round = 0; round <= count; round++) {
    await prepare()
    const [cpu, started] = [process.cpuUsage(), performance.now()]
    await work()
    const { user, system } = process.cpuUsage(cpu)
    if (round > 0) measured.push({ cpuMs: (user + system) / 1000, ms: performance.now() - started })
  }
  return measured
}
