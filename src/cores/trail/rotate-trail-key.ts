/** A new key signs the trail from now on; the one before vouches for it. */
import type { DataKeys } from '../../trust/data-key.ts'
import { write, type Verb } from '../verb.ts'
import { addKey, withoutSecret } from './trail-keys.ts'

export const rotateTrailKey: Verb<'rotateTrailKey', { readonly dataKeys: DataKeys }> = write(
  { by: 'principal' },
  async ({ tx, clock, dataKeys }) => withoutSecret(await addKey(tx, { clock, dataKeys })),
)
