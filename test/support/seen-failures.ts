/** Answers with a status of 500 or above, of the systems that note them. */
const failures: string[] = []

export function noteAnswer(request: Request, { status }: Response): void {
  if (status >= 500) failures.push(`${status} ${request.method} ${new URL(request.url).pathname}`)
}

/** Those since it was last asked. */
export const takeFailures = (): string[] => failures.splice(0)
