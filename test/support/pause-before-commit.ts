import type { Database } from '../../db/connect.ts'

/** The transaction of that number stops right before it would commit, and says so: for tests that kill the process there. */
export function pauseBeforeCommit(real: Database, number = 1): Database {
  let count = 0
  const transaction: Database['transaction'] = (work, ...rest) =>
    real.transaction(
      async (tx) => {
        const result = await work(tx)
        if (++count < number) return result
        process.stdout.write('written\n')
        return new Promise<never>(() => {})
      },
      ...rest,
    )
  return new Proxy(real, {
    get: (target, name, receiver): unknown =>
      name === 'transaction' ? transaction : Reflect.get(target, name, receiver),
  })
}
