/** The sentences of a finding. Names are cut to what a program may call a function: log lines do not speak here. */
import type { Place } from './find-place.ts'
import type { LogGroup } from './reader.ts'

export const lines = (count: number): string =>
  count === 1 ? 'one log line' : `${count.toLocaleString('en')} log lines`

export const since = (time: string): string =>
  `since ${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`

export const occurrences = (group: LogGroup): string =>
  group.count === 1
    ? `${lines(1)} at ${since(group.first_at).slice(6)}`
    : `${lines(group.count)} ${since(group.first_at)}`

/** Where, with the function if it has a name. */
export function at(place: Place | null): string {
  if (!place) return ''
  const symbol = /^[\w.$#:]{1,80}$/.test(place.symbol ?? '') ? ` in ${place.symbol}` : ''
  return `${symbol} at ${place.path}:${place.line}`
}

/** How sure: a reader should know what was only searched for. */
export const certainty = (place: Place | null): string => {
  if (!place) return 'No place in the source was found.'
  if (place.by === 'frame') return ''
  if (place.by === 'moved') return 'The stack trace is of another revision; this is the nearest place.'
  if (place.by === 'name') return 'The line has what the message names.'
  return 'The line writes the message; the cause may lie before it.'
}

export const sentences = (...parts: readonly string[]): string =>
  parts.filter((part) => part !== '').join(' ')
