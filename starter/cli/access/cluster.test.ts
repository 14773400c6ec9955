import { expect, test, vi } from 'vitest'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { asAdministrator, exitCodeOf } from './cluster.ts'

const forbidden = () => Promise.reject(new ApiError(403, 'Forbidden', 'you may not patch customresourcedefinitions'))

test.each([
  ['of operators', undefined, 'the role joiner-operator has that right'],
  ['of administrators', asAdministrator, 'run the command as an administrator of the cluster'],
])('whoever lacks a right %s is told who has it', async (_, remedy, told) => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {})
  expect(await exitCodeOf(forbidden, remedy)).toBe(1)
  expect(said).toHaveBeenLastCalledWith(`you may not patch customresourcedefinitions; ${told}`)
  said.mockRestore()
})
