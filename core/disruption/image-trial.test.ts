import { expect, it } from 'vitest'
import { sampleClaim, sampleCondition, sampleTime } from '../../test/samples/sample-objects.ts'
import type { NodeClaim, NodeClass } from '../objects.ts'
import { imageTrials } from './image-trial.ts'

const nodeClass = (name: string, ...images: readonly string[]) =>
  ({
    kind: 'AKSNodeClass',
    metadata: { name },
    status: { images: images.map((id) => ({ id, requirements: [] })), conditions: [] },
  }) as unknown as NodeClass

/** A NodeClaim of class `default`, with the conditions that hold. */
function claim(name: string, imageId: string | undefined, held: readonly string[], stamp?: string): NodeClaim {
  const metadata = stamp === undefined ? {} : { annotations: { 'joiner.sh/disruption-command': stamp } }
  const made = sampleClaim(name, {
    metadata,
    status: { conditions: held.map((one) => sampleCondition(one)), ...(imageId === undefined ? {} : { imageId }) },
  })
  return { ...made, spec: { ...made.spec, nodeClassRef: { ...made.spec.nodeClassRef, name: 'default' } } }
}

const old = claim('old', '/i/versions/1', ['Initialized', 'Drifted'])
const leaving = claim('leaving', '/i/versions/1', ['Initialized', 'Drifted'], 'command')
const consolidated = claim('consolidated', '/i/versions/1', ['Initialized'], 'command')

it.each<[string, readonly NodeClaim[], 'untried' | 'trying' | undefined]>([
  ['of a class without nodes are on no trial', [], undefined],
  [
    'that an initialized node has are proved, whatever the case of the id',
    [old, claim('n', '/I/versions/2', ['Initialized'])],
    undefined,
  ],
  ['that no node has are untried', [old], 'untried'],
  ['that a node has which is not initialized are tried', [old, claim('n', '/i/versions/2', ['Registered'])], 'trying'],
  ['that a NodeClaim without a VM will get are tried', [old, claim('n', undefined, [])], 'trying'],
  ['for which a drifted node goes are tried', [old, leaving], 'trying'],
  ['are not tried because a node goes for another reason', [old, consolidated], 'untried'],
  ['are on no trial while no node of the class has ever initialized', [claim('n', '/i/versions/2', [])], undefined],
  ['are not tried by a node of an old image that still starts', [old, claim('n', '/i/versions/1', [])], 'untried'],
])('images %s', (_, nodeClaims, expected) => {
  const trials = imageTrials({
    now: sampleTime + 60_000,
    nodeClaims,
    nodeClasses: [nodeClass('default', '/i/versions/2'), nodeClass('other', '/i/versions/9')],
  })
  expect(trials.get('default')).toBe(expected)
  expect(trials.has('other')).toBe(false)
})

it('a node that a proposal takes counts as going, and a class without images has no trial', () => {
  const reserved = new Set([old.metadata.name])
  expect(
    imageTrials({
      now: sampleTime + 60_000,
      nodeClaims: [old],
      nodeClasses: [nodeClass('default', '/i/versions/2')],
      reserved,
    }).get('default'),
  ).toBe('trying')
  expect(imageTrials({ now: sampleTime + 60_000, nodeClaims: [old], nodeClasses: [nodeClass('default')] }).size).toBe(0)
})

it('a node that has not initialized for half an hour holds up no other trial', () => {
  const stuck = claim('stuck', '/i/versions/2', ['Registered'])
  const at = (now: number) =>
    imageTrials({ nodeClaims: [old, stuck], nodeClasses: [nodeClass('default', '/i/versions/2')], now }).get('default')
  expect([at(sampleTime + 29 * 60_000), at(sampleTime + 31 * 60_000)]).toEqual(['trying', 'untried'])
})

it('nodes whose drift by image is over, and whose condition does not say so yet, are not replaced', () => {
  const drifted = { ...sampleCondition('Drifted'), reason: 'ImageDrift' }
  const back = claim('back', '/i/versions/2', ['Initialized'])
  const stale = { ...back, status: { ...back.status, conditions: [...back.status.conditions, drifted] } }
  const trialOf = (one: NodeClaim) =>
    imageTrials({ nodeClaims: [one], nodeClasses: [nodeClass('default', '/i/versions/2')], now: sampleTime })
  expect(trialOf(stale).get('default')).toBe('trying')
  expect(trialOf(back).size).toBe(0)
})

it('images that AKS machines have are compared in the form in which machines name them', () => {
  const id = (version: string) =>
    `/subscriptions/s/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu/images/2404gen2containerd/versions/${version}`
  const machine = (name: string, version: string, held: readonly string[]) =>
    claim(name, `AKSUbuntu-2404gen2containerd-${version}`, held)
  const trialOf = (...nodeClaims: readonly NodeClaim[]) =>
    imageTrials({ now: sampleTime + 60_000, nodeClaims, nodeClasses: [nodeClass('default', id('2'))] }).get('default')
  const before = machine('old', '1', ['Initialized', 'Drifted'])
  expect(trialOf(before)).toBe('untried')
  expect(trialOf(before, machine('n', '2', []))).toBe('trying')
  expect(trialOf(before, machine('n', '2', ['Initialized']))).toBeUndefined()
})
