/** The keys of the trail, oldest first; the last one signs. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { installationFacts } from '../../../db/schema.ts'
import type { TrailKey } from '../../contracts/trail-format.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { newTrailKey, trailSigner, type StoredTrailKey, type TrailSigner } from '../../trust/trail-key.ts'
import type { Clock } from '../dependencies.ts'

const KEYS_FACT = 'trail_keys'

type KeyDeps = { readonly clock: Clock; readonly dataKeys: DataKeys }

async function readKeys(db: Handle): Promise<readonly StoredTrailKey[]> {
  const [fact] = await db
    .select({ value: installationFacts.value })
    .from(installationFacts)
    .where(eq(installationFacts.name, KEYS_FACT))
  return (fact?.value ?? []) as StoredTrailKey[]
}

export const publicTrailKeys = async (db: Handle): Promise<TrailKey[]> =>
  (await readKeys(db)).map(withoutSecret)

/** What others may know of it. */
export function withoutSecret(stored: StoredTrailKey): TrailKey {
  const { sealed: _, ...key } = stored
  return key
}

/** Under the lock of its row. A key that cannot be opened, because DATA_KEY is another one, is followed by a new one. */
export async function readSigner(tx: Transaction, deps: KeyDeps): Promise<TrailSigner> {
  const last = (await lockKeys(tx)).at(-1)
  return (last && trailSigner(deps.dataKeys, last)) ?? trailSigner(deps.dataKeys, await addKey(tx, deps))!
}

export async function addKey(tx: Transaction, { clock, dataKeys }: KeyDeps): Promise<StoredTrailKey> {
  const keys = await lockKeys(tx)
  const key = newTrailKey(dataKeys, clock(), keys.at(-1))
  await tx
    .update(installationFacts)
    .set({ value: [...keys, key] })
    .where(eq(installationFacts.name, KEYS_FACT))
  return key
}

async function lockKeys(tx: Transaction): Promise<readonly StoredTrailKey[]> {
  await tx.insert(installationFacts).values({ name: KEYS_FACT, value: [] }).onConflictDoNothing()
  const [row] = await tx
    .select()
    .from(installationFacts)
    .where(eq(installationFacts.name, KEYS_FACT))
    .for('update')
  return row!.value as StoredTrailKey[]
}
