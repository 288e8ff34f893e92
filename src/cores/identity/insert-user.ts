import type { Transaction } from '../../../db/connect.ts'
import { users } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Clock } from '../dependencies.ts'

export async function insertUser(
  tx: Transaction,
  clock: Clock,
  person: { email: string; name: string; emailVerifiedAt?: Date | null },
): Promise<string> {
  const now = clock()
  const id = makeId('usr', now.getTime())
  await tx.insert(users).values({ ...person, id, createdAt: now })
  return id
}
