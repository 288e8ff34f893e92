/** A query begins when somebody waits for it, and is over with its answer. */
import type { Places } from './places.ts'

/** What the driver's types leave out. */
type DriverQuery = {
  handler: (query: DriverQuery) => void
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

export function waitForPlace(given: object, places: Places): void {
  const query = given as DriverQuery
  const { handler, resolve, reject } = query
  let hasPlace = false
  const leave = () => {
    if (hasPlace) places.leave()
    hasPlace = false
  }
  query.handler = (started) => {
    places.enter().then(() => {
      hasPlace = true
      handler(started)
    }, query.reject)
  }
  query.resolve = (value) => {
    leave()
    resolve(value)
  }
  query.reject = (error) => {
    leave()
    reject(error)
  }
}
