/** Shows what a start is doing: at a terminal a line for each step with its duration, elsewhere lines of the log. */
import type { Logger } from '../observe/log.ts'

/** A faster step of a later start is not worth a line. */
const SLOW_MS = 1_000

export type StartSteps = {
  /** From now on a step is shown when it begins; before, when it has taken a second. */
  showAll(): void
  run<T>(what: string, work: () => Promise<T>): Promise<T>
}

/** Steps come one after the other. */
export function startSteps(show: StepDisplay, slowMs = SLOW_MS): StartSteps {
  let delayMs = slowMs
  return {
    showAll() {
      delayMs = 0
    },
    async run(what, work) {
      const began = performance.now()
      let shown = delayMs === 0
      if (shown) show.begin(what)
      const timer = setTimeout(() => {
        if (!shown) show.begin(what)
        shown = true
      }, delayMs)
      try {
        const result = await work()
        if (shown) show.end(what, performance.now() - began)
        return result
      } catch (error) {
        if (shown) show.fail(what)
        throw error
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

export type StepDisplay = {
  readonly begin: (what: string) => void
  readonly end: (what: string, ms: number) => void
  readonly fail: (what: string) => void
}

/** `print` is for everything else that goes to the same terminal: it does not end up in the middle of a line. */
export function terminalDisplay(write: (text: string) => unknown): StepDisplay & {
  readonly print: (text: string) => void
} {
  let unfinished = false
  const finish = (what: string, how: string) => {
    write(unfinished ? `${how}\n` : `${what} … ${how}\n`)
    unfinished = false
  }
  return {
    begin(what) {
      write(`${what} … `)
      unfinished = true
    },
    end: (what, ms) => finish(what, `${(ms / 1000).toFixed(1)} s`),
    fail: (what) => finish(what, 'failed'),
    print(text) {
      write(unfinished ? `\n${text}` : text)
      unfinished = false
    },
  }
}

export const logDisplay = (log: Logger): StepDisplay => ({
  begin: (what) => log.info('start step', { step: what }),
  end: (what, ms) => log.info('start step done', { step: what, ms: Math.round(ms) }),
  // The reason ends the process, and is told there.
  fail: () => {},
})
