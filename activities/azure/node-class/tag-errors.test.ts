import { describe, expect, it } from 'vitest'
import { errorText } from '../../../core/values/field-error.ts'
import { nodeTags, tagKeys } from '../launch/tags.ts'
import { vmTags } from '../launch/virtual-machine.ts'
import { tagErrors } from './tag-errors.ts'

type Tags = Readonly<Record<string, string>>

const numbered = (count: number, from = 0): Tags =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${from + at}`, 'x']))
const machines = { pool: 'machines', inBatches: false }

/** The messages of a class beside settings. */
const messagesOf = (tags: Tags, additionalTags: Tags = {}, makesMachines?: typeof machines) =>
  tagErrors({ additionalTags, ...(makesMachines === undefined ? {} : { makesMachines }) }, { tags }).map(errorText)

describe('tags that Azure takes', () => {
  it.each<[string, Tags, Tags?]>([
    ['none', {}],
    ['44 beside the 6 of a VM', numbered(44)],
    ['44, some of the settings', numbered(25), numbered(19, 25)],
    ['44, all of the settings again', numbered(44), numbered(44)],
    [
      '44 beside those that Joiner sets anyway',
      { ...numbered(44), 'karpenter.azure.com/cluster': 'x', 'Joiner.sh_abandoned': 'x' },
    ],
    ['the longest', { ['k'.repeat(512)]: 'v'.repeat(256) }],
    ['one of the settings with another value', { owner: 'b' }, { owner: 'a' }],
    ['one of the settings with a slash', { 'team/a': 'b' }, { team_a: 'a' }],
    ['twins of one of Joiner, which come to nothing', { 'karpenter.sh/nodepool': 'x', 'Karpenter.sh_NodePool': 'x' }],
    ['names that every object has', { constructor: 'x', toString: 'x' }],
  ])('%s', (_what, tags, additional) => {
    expect(messagesOf(tags, additional)).toEqual([])
  })

  it('are 43 of AKS machines', () => {
    expect(messagesOf(numbered(43), {}, machines)).toEqual([])
    expect(messagesOf(numbered(44), {}, machines)).toHaveLength(1)
  })
})

describe('tags that Azure refuses', () => {
  it.each<[string, Tags, Tags, RegExp]>([
    ['twins in a class', { Owner: 'a', owner: 'b' }, {}, /^spec\.tags names one tag more than once: "Owner", "owner" /],
    ['twins with a slash', { 'a/b': 'a', a_b: 'b' }, {}, /"a\/b", "a_b"/],
    ['twins by both', { 'A/b': 'a', a_B: 'b' }, {}, /"A\/b", "a_B"/],
    ['a twin in the settings', { owner: 'b' }, { Owner: 'a' }, /once: "owner", "Owner" of azure\.additionalTags/],
    ['twins beyond ASCII', { É: 'a', é: 'b' }, {}, /"É", "é"/],
    [
      '45 beside the 6 of a VM',
      numbered(45),
      {},
      /leads to 51 tags of a node \(45 of spec\.tags and 6 of Joiner.s\).*takes 50; remove 1 of "t0", .*"t19" and 25 more/,
    ],
    ['60', numbered(60), {}, /leads to 66 tags.*remove 16 of/],
    ['45, most of the settings', numbered(1), numbered(44, 1), /1 of spec\.tags, 44 of azure\.additionalTags and 6/],
    ['a long name', { ['k'.repeat(513)]: 'a' }, {}, /name has 513 characters; use at most 512/],
    ['a long value', { k: 'v'.repeat(257) }, {}, /"k" whose value has 257 characters; use at most 256/],
    [
      'a long value in the settings',
      {},
      { k: 'v'.repeat(257) },
      /"k", from azure\.additionalTags, whose value has 257/,
    ],
    ['a character', { 'a?b': 'c' }, {}, /"a\?b" whose name has one of/],
    ['a backslash', { 'a\\b': 'c' }, {}, /whose name has one of/],
    ['a blank name', { ' ': 'c' }, {}, /which is no name/],
  ])('%s', (_what, tags, additional, message) => {
    expect(messagesOf(tags, additional)).toEqual([expect.stringMatching(message)])
  })

  it('are counted beside as many as a VM and a machine have', () => {
    const config = { additionalTags: {}, clusterName: 'c', clusterUid: 'u' }
    const vm = vmTags({
      config,
      nodeClass: { spec: { osDiskSizeGB: 128, imageFamily: 'Ubuntu' } },
      claim: { uid: 'a', nodePool: 'p' },
    })
    expect(Object.keys({ ...vm, [tagKeys.bootstrapToken]: '' })).toHaveLength(6)
    expect(Object.keys({ ...vm, [tagKeys.aksMachine]: '', [tagKeys.attempt]: '' })).toHaveLength(7)
  })

  it('of twins come to one tag all the same', () => {
    const config = { additionalTags: { Owner: 'a' }, clusterName: 'c' }
    expect(nodeTags(config, { tags: { owner: 'b' } }, undefined)).toMatchObject({ owner: 'b' })
  })
})
