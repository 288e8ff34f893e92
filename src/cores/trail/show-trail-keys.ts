import { read, type Verb } from '../verb.ts'
import { publicTrailKeys } from './trail-keys.ts'

export const showTrailKeys: Verb<'showTrailKeys'> = read('principal', async ({ db }) => ({
  keys: await publicTrailKeys(db),
}))
