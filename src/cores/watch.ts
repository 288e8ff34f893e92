/**
 * Since when a process has been looking without a failure or a gap. What happened before it cannot judge: whoever was not
 * heard from may have been there, and met a server that was not.
 */
export type Watch = { readonly since: Date }

/** Whether whoever must report within so many seconds has had that long to do it. */
export const couldReport = ({ since }: Watch, now: Date, seconds: number): boolean =>
  now.getTime() - since.getTime() >= seconds * 1000
