/** For work of many small steps: every few milliseconds whoever else waits in this process gets a turn. */
import { setImmediate } from 'node:timers/promises'

/** So many take some milliseconds, however they were made: steps would not do, one may be a thousand times as long as another. */
const TURN_CHARACTERS = 16 * 1024
/** What a step costs beside its characters: without, millions of empty ones would be one turn. */
const STEP_CHARACTERS = 64

/** Call it at each step, and wait for what it gives, if anything: waiting for nothing a million times is slow, too. */
export function turnGiver(): (characters: number) => Promise<void> | undefined {
  let done = 0
  return (characters) => {
    done += STEP_CHARACTERS + characters
    if (done < TURN_CHARACTERS) return undefined
    done = 0
    return setImmediate()
  }
}
