/** Parts of one job, each of which is tried whatever became of the others, until it is to stop. What failed is thrown at the end. */
export function separately(stopping?: AbortSignal) {
  const failures: unknown[] = []
  return {
    async run(part: () => Promise<unknown>): Promise<void> {
      if (stopping?.aborted) return
      try {
        await part()
      } catch (error) {
        failures.push(error)
      }
    },
    end(): void {
      if (failures.length > 0)
        throw new AggregateError(failures, `${failures.length} of the parts failed`, { cause: failures[0] })
    },
  }
}
