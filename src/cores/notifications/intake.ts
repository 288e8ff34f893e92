/** From the outbox to the queue: ships what was recorded and fans out what was shipped. */
import type { Log } from '../needs.ts'
import { eventsToFanOut, fanOut, type FanOutNeeds } from './fan-out.ts'
import { shipOutbox } from './ship-outbox.ts'

/** Whether anything moved. One event that cannot be fanned out holds up no other, except those of its own subject. */
export async function takeIn(needs: FanOutNeeds & Log): Promise<boolean> {
  const shipped = await shipOutbox(needs)
  let moved = false
  for (const event of await eventsToFanOut(needs)) {
    try {
      moved = (await fanOut(needs, event)) || moved
    } catch (error) {
      needs.log.warn('an event cannot be fanned out', { event: event.id, error })
    }
  }
  return shipped > 0 || moved
}
