/** How much a bench does: as usual, or with `BENCH_SIZE=small` so little that it only shows that the bench still runs. */
export const isSmall = process.env['BENCH_SIZE'] === 'small'

export const sized = (usual: number, small: number): number => (isSmall ? small : usual)

/** `BENCH_ROUNDS` counts for every bench that has rounds. */
export const roundsOf = (usual: number): number => Number(process.env['BENCH_ROUNDS'] ?? sized(usual, 1))
