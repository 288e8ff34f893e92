/** Ctrl-C and the signal of service managers: the first asks to stop, each further one insists. */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export function onStopSignals({ first, second }: { first: () => void; second: () => void }): { off(): void } {
  let count = 0
  const handle = () => (count++ === 0 ? first() : second())
  for (const signal of SIGNALS) process.on(signal, handle)
  return {
    off() {
      for (const signal of SIGNALS) process.off(signal, handle)
    },
  }
}
