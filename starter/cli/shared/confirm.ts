/**
 * Asks a person on the terminal for a yes. `flag` is what says yes where nobody can be asked; without it nobody is asked there and the answer is
 * `unasked`.
 */
export async function confirmed(question: string, flag: boolean): Promise<'yes' | 'no' | 'unasked'> {
  if (flag) return 'yes'
  if (!process.stdin.isTTY) return 'unasked'
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  return ['y', 'yes'].includes(answer.trim().toLowerCase()) ? 'yes' : 'no'
}
