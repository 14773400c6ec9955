import { describe, expect, test } from 'vitest'
import { describeInstallation, installationText, ownershipOf } from './installation.ts'

const own = { release: 'joiner', namespace: 'joiner', uid: 'u1' }

describe('the owner of the CRDs', () => {
  test.each([
    ['no annotation', undefined, 'unclaimed'],
    ['an empty annotation', '', 'unclaimed'],
    ['our own', installationText(own), 'ours'],
    ['another release in the same namespace', installationText({ ...own, release: 'other' }), 'foreign'],
    ['the same release in another namespace', installationText({ ...own, namespace: 'other' }), 'foreign'],
    ['our namespace, which was deleted and made again', installationText({ ...own, uid: 'u0' }), 'unclaimed'],
    ['another namespace with our UID', installationText({ ...own, namespace: 'other', uid: 'u1' }), 'foreign'],
    ['no JSON', 'joiner', 'foreign'],
    ['JSON that is no object', '"joiner"', 'foreign'],
    ['JSON null', 'null', 'foreign'],
    ['an empty object', '{}', 'foreign'],
  ])('%s', (_what, annotation, kind) => expect(ownershipOf(annotation, own).kind).toBe(kind))
})

test('an installation in words', () => {
  expect(describeInstallation(installationText(own))).toBe('release "joiner" in namespace "joiner"')
  expect(describeInstallation('who \u001b[31mknows')).toBe('"who \\u001b[31mknows"')
  expect(describeInstallation('{"release":"\\u001b[2J","namespace":"x"}')).toBe('release "\\u001b[2J" in namespace "x"')
})
