import { expect, test } from 'vitest'
import { findMutants, mutated } from './mutants.ts'

const text = `
export async function act(claim: Claim, deps: Deps): Promise<void> {
  const { uid } = claim
  if (claim.isGone) return
  for (const vm of deps.vms) {
    if (vm.ownerUid !== uid) continue
    await deps.sleep(10)
    await deps.client.patch(
      vm.name,
      claim,
    )
  }
  if (deps.isLast) {
    deps.log()
    return
  } else await deps.close()
  const known = deps.list.filter((one) => one.uid === uid && isOwn(one))
  if (known.length > 0) throw new Error(owner.kind === 'foreign' ? 'x' : 'y')
}
`

const mutants = findMutants('activities/a.ts', text)

test('finds awaited writes, ownership checks and early returns', () => {
  expect(mutants.map(({ line, kind, removed, by }) => [line, kind, removed, by])).toEqual([
    [4, 'early return', 'if (claim.isGone) return', ';'],
    [6, 'ownership check', 'if (vm.ownerUid !== uid) continue', ';'],
    [8, 'awaited write', 'await deps.client.patch(', ';'],
    [16, 'awaited write', 'await deps.close()', ';'],
    [17, 'ownership check', 'one.uid === uid', 'true'],
    [17, 'ownership check', 'isOwn(one)', 'true'],
    [18, 'ownership check', "owner.kind === 'foreign'", 'false'],
  ])
})

test('what is removed leaves all other lines where they are', () => {
  for (const mutant of mutants) {
    const changed = mutated(text, mutant).split('\n')
    expect(changed).toHaveLength(text.split('\n').length)
    expect(changed.at(mutant.line - 1)).toContain(mutant.by)
    expect(findMutants('a.ts', changed.join('\n')).length).toBeLessThan(mutants.length)
  }
})
