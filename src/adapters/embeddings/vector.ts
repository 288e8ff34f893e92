/** Validates a vector before a search uses it. */

/** The vector as the database will hold it, or what is wrong with it. */
export function checkedVector(numbers: ArrayLike<number>, dimensions: number): Float32Array | string {
  if (numbers.length !== dimensions) {
    return `the vector has ${numbers.length} dimensions and should have ${dimensions}`
  }
  // In single precision, as in pgvector: 1e39 is finite here and infinite there.
  const vector = Float32Array.from(numbers)
  if (!vector.every(Number.isFinite)) return 'the vector contains a value that is not a number'
  // By cosine every row would be equally far, and the first ten would look like an answer.
  if (vector.every((number) => number === 0)) return 'the vector is zero'
  return vector
}
