/**
 * Whether this process serves the embedded databases. One process owns their folder, by its lock; the others connect to
 * it over the network like everybody else, and the first of them that finds the lock free takes over. Pure:
 * embedded-provisioner.ts performs the effects.
 */
import type { EmbeddedDatabases } from './embedded-databases.ts'

export type OpenFolder = { readonly databases: EmbeddedDatabases; readonly releaseLock: () => void }

export type OwnershipState =
  /** Another process owns the folder, or nobody does yet. */
  | { readonly phase: 'not owner' | 'opening' | 'closing' | 'closed' }
  | { readonly phase: 'owner'; readonly folder: OpenFolder }

export type OwnershipInput =
  | 'acquire'
  | 'lock held elsewhere'
  | 'failed'
  | 'close'
  | { readonly opened: OpenFolder }
export type OwnershipEffect = 'open folder' | 'start owner jobs' | { readonly closeFolder: OpenFolder }

type Step = readonly [OwnershipState, readonly OwnershipEffect[]]

export function nextOwnership(state: OwnershipState, input: OwnershipInput): Step {
  const stay: Step = [state, []]
  switch (state.phase) {
    case 'not owner':
      if (input === 'close') return [{ phase: 'closed' }, []]
      return input === 'acquire' ? [{ phase: 'opening' }, ['open folder']] : stay
    case 'opening':
      if (input === 'acquire') return stay
      if (input === 'close') return [{ phase: 'closing' }, []]
      return typeof input === 'string'
        ? [{ phase: 'not owner' }, []]
        : [{ phase: 'owner', folder: input.opened }, ['start owner jobs']]
    case 'owner':
      return input === 'close' ? [{ phase: 'closed' }, [{ closeFolder: state.folder }]] : stay
    // Closed while it opened: what is still to come is closed at once.
    case 'closing':
      if (input === 'acquire' || input === 'close') return stay
      return [{ phase: 'closed' }, typeof input === 'string' ? [] : [{ closeFolder: input.opened }]]
    case 'closed':
      return stay
  }
}
