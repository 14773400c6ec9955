import { describe, expect, test, vi } from 'vitest'
import { newClaim, world } from '../../../test/fakes/launch-world.ts'
import { claimJson, condition, nodeClassJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { type RefusalCase, refusalCases } from '../../../test/refusals/cases.ts'
import { learnFromRefusal, learnFromSuccess, learnFromTimeout } from './learn.ts'

useFakeTime()

const zone = 'westus2-2'
const size = (name: string) => ({
  instanceType: name,
  zone,
  capacityType: 'on-demand',
  image: 'image-1',
  nodeClass: 'default',
})
const d2 = size('Standard_D2s_v5')

function factsOf({ status, code, message }: RefusalCase, instanceType: string) {
  const text = message({ size: instanceType, zone: '2' })
  return { code, text, ...(status === undefined ? {} : { status }) }
}

describe('a refusal', () => {
  test.each(refusalCases.filter(({ isCommon }) => isCommon !== true).map((one) => [one.name, one] as const))(
    '%s: another offering is tried at once, and the mark says why',
    async (_, refusal) => {
      const { deps } = world(newClaim())
      const attempted = { ...d2, capacityType: refusal.spot === true ? 'spot' : 'on-demand' }
      const learn = () => learnFromRefusal(deps, factsOf(refusal, d2.instanceType), attempted)
      const { reason } = refusal.reaction
      // What nothing is known of shows by its repetition.
      if (reason === 'RepeatedFailure') for (let time = 1; time < 3; time += 1) expect(await learn()).toBeUndefined()
      expect(await learn()).toMatchObject({ kind: 'capacity', reason })
      expect(new Set([...deps.unavailable.marks.values()].map((mark) => mark.reason))).toEqual(new Set([reason]))
      const offering = { ...attempted, family: 'standardDSv5Family', vCpus: 2 }
      expect(deps.unavailable.isMarked(offering, { nodeClass: 'default', images: new Set(['image-1']) })).toBe(true)
    },
  )

  test.each(refusalCases.filter(({ isCommon }) => isCommon === true).map((one) => [one.name, one] as const))(
    '%s: no size is marked, whatever sizes were asked for',
    async (_, refusal) => {
      const { deps } = world(newClaim())
      const times = refusal.status === 500 ? 3 : 1
      for (const name of ['Standard_D2s_v5', 'Standard_D4s_v5', 'Standard_D8s_v5'])
        for (let time = 0; time < times; time += 1)
          await learnFromRefusal(deps, factsOf(refusal, name), size(name)).catch(() => {})
      const isRefusalOfClass = refusal.reaction.reason === 'CommonLaunchFailure'
      expect([...deps.unavailable.marks.values()].map(({ kind }) => kind)).toEqual(isRefusalOfClass ? ['class'] : [])
    },
  )

  test('there are cases enough, and of each reaction', () => {
    expect(refusalCases.length).toBeGreaterThanOrEqual(25)
    expect(new Set(refusalCases.map(({ reaction }) => reaction.kind))).toEqual(new Set(['another', 'wait', 'named']))
  })
})

describe('a size that is marked', () => {
  const refused = { code: 'VMSizeNotSupported', status: 400, text: 'The VM size Standard_D2s_v5 is not supported.' }
  const lasting = (marks: Iterable<{ readonly untilMs: number }>, now: number) =>
    [...marks].map(({ untilMs }) => (untilMs - now) / 3_600_000)

  test('is left out for an hour, then for two, for up to 24', async () => {
    const { deps, setNow } = timed()
    const hours: number[] = []
    for (let time = 0; time < 7; time += 1) {
      await learnFromRefusal(deps, refused, d2)
      const [left = 0] = lasting(deps.unavailable.marks.values(), deps.now())
      hours.push(left)
      setNow(deps.now() + left * 3_600_000 + 1000)
      expect(deps.unavailable.marks.size).toBe(0)
    }
    expect(hours).toEqual([1, 2, 4, 8, 16, 24, 24])
  })

  test('begins with an hour again after a Node of it joined, and after a time without a refusal', async () => {
    const { deps, setNow } = timed()
    const again = async () => {
      await learnFromRefusal(deps, refused, d2)
      return lasting(deps.unavailable.marks.values(), deps.now())[0]
    }
    expect(await again()).toBe(1)
    setNow(deps.now() + 3_600_001)
    await learnFromSuccess(deps, d2, 'registered')
    expect(await again()).toBe(1)
    setNow(deps.now() + 2 * 3_600_001)
    expect(await again()).toBe(1)
  })

  test('of several launches that are refused at the same time, it lasts an hour', async () => {
    const { deps } = timed()
    await Promise.all([1, 2, 3].map(() => learnFromRefusal(deps, refused, d2)))
    expect(lasting(deps.unavailable.marks.values(), deps.now())).toEqual([1])
  })

  test('for its image is offered with another image, and for a class to other classes', async () => {
    const { deps } = timed()
    const cannotBoot = { code: 'InvalidParameter', status: 400, text: 'cannot boot with OS image or disk' }
    await learnFromRefusal(deps, cannotBoot, d2)
    const offering = { ...d2, family: 'standardDSv5Family', vCpus: 2 }
    const isMarked = (image: string, nodeClass = 'default') =>
      deps.unavailable.isMarked(offering, { nodeClass, images: new Set([image]) })
    expect([isMarked('image-1'), isMarked('image-1', 'other'), isMarked('image-2')]).toEqual([true, true, false])
    const lacks = { code: 'InvalidParameter', status: 400, text: 'VM size Standard_D4s_v5 has no such feature' }
    await learnFromRefusal(deps, lacks, size('Standard_D4s_v5'))
    const d4 = { ...offering, instanceType: 'Standard_D4s_v5' }
    expect(deps.unavailable.isMarked(d4, { nodeClass: 'default', images: new Set() })).toBe(true)
    expect(deps.unavailable.isMarked(d4, { nodeClass: 'other', images: new Set() })).toBe(false)
  })

  function timed() {
    const made = world(newClaim())
    return { ...made, setNow: (ms: number) => void vi.setSystemTime(ms) }
  }
})

describe('Nodes that do not join', () => {
  const sizes = ['Standard_D2s_v5', 'Standard_D4s_v5', 'Standard_D8s_v5'].map(size)
  const marked = (deps: ReturnType<typeof world>['deps']) =>
    [...deps.unavailable.marks.values()].map((mark) => (mark.kind === 'size' ? mark.instanceType : mark.kind))

  test('of one size: the second marks it', async () => {
    const { deps } = world(newClaim())
    await learnFromTimeout(deps, d2)
    expect(marked(deps)).toEqual([])
    await learnFromTimeout(deps, d2)
    expect(marked(deps)).toEqual(['Standard_D2s_v5'])
  })

  test('of three sizes: nothing stays marked, and the class says so until a Node joins', async () => {
    const { deps, cluster, reported } = world(newClaim())
    const [a, b, c] = sizes as [typeof d2, typeof d2, typeof d2]
    for (const one of [a, a, b, b]) await learnFromTimeout(deps, one)
    expect(marked(deps).length).toBe(2)
    await expect(learnFromTimeout(deps, c)).rejects.toThrow(/3 sizes of AKSNodeClass default failed alike/)
    expect(marked(deps)).toEqual([])
    const health = () =>
      cluster.object('aksnodeclasses', 'default')?.status.conditions.find(({ type }) => type === 'LaunchHealthy')
    expect(health()).toMatchObject({ status: 'False', reason: 'CommonLaunchFailure' })
    expect(reported.map(({ about, reason }) => `${about} ${reason}`)).toContain(
      'AKSNodeClass/default CommonLaunchFailure',
    )
    await learnFromSuccess(deps, c, 'registered')
    expect(health()).toMatchObject({ status: 'True' })
  })

  test('for 30 minutes, of two sizes in turn, then repaired: no size stays marked', async () => {
    const { deps } = world(newClaim())
    const [a, b, c] = sizes as [typeof d2, typeof d2, typeof d2]
    for (const one of [a, a, a, a, a, b, b, b, b, b]) await learnFromTimeout(deps, one)
    await learnFromSuccess(deps, c, 'registered')
    expect(marked(deps)).toEqual([])
  })
})

describe('a new node image', () => {
  const [working, fresh] = ['202512.18.0', '202601.01.0'].map((version) => `/g/images/2404/versions/${version}`) as [
    string,
    string,
  ]
  const launch = { ...d2, image: fresh }
  const notFound = { code: 'GalleryImageNotFound', status: 404, text: 'The gallery image is not available.' }
  const broken = { code: 'OSProvisioningTimedOut', text: 'OS Provisioning did not finish.' }
  const requirements = [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }]

  /** A class whose images are new, and a node that has initialized with an image. */
  function upgraded(image = working) {
    const made = world(newClaim(), nodeClassJson('default', { status: { images: [{ id: fresh, requirements }] } }))
    made.cluster.put(
      'nodeclaims',
      claimJson('old', { status: { imageID: image, conditions: [condition('Initialized')] } }),
    )
    const images = () => made.cluster.object('aksnodeclasses', 'default')?.status['images']
    return { ...made, images, marked: () => [...made.deps.unavailable.marks.values()].map(({ kind }) => kind) }
  }

  test('whose Nodes do not join is given up at the second, and the class gets the one that works', async () => {
    const { deps, images, marked, reported } = upgraded()
    await learnFromTimeout(deps, launch)
    expect(marked()).toEqual([])
    await learnFromTimeout(deps, launch)
    expect(marked()).toEqual(['image'])
    expect(images()).toEqual([{ id: working, requirements }])
    expect(reported.map(({ reason }) => reason)).toContain('ImageGivenUp')
  })

  test('whose VMs fail is given up at the second, and no size is blamed', async () => {
    const { deps, marked } = upgraded()
    const failed = () => learnFromRefusal(deps, broken, { ...launch, wasAccepted: true })
    expect(await failed()).toMatchObject({ kind: 'capacity' })
    expect(await failed()).toMatchObject({ kind: 'capacity', reason: 'ImageGivenUp' })
    expect(marked()).toEqual(['image'])
  })

  test('that the gallery does not have is given up at once', async () => {
    const { deps, images, marked } = upgraded()
    expect(await learnFromRefusal(deps, notFound, launch)).toMatchObject({ reason: 'ImageGivenUp' })
    expect([marked(), images()]).toEqual([['image'], [{ id: working, requirements }]])
  })

  test('that an annotation names is not given up', async () => {
    const { deps, images, marked, cluster } = upgraded()
    const annotations = { 'joiner.sh/image-version': '202601.01.0' }
    const status = { images: [{ id: fresh, requirements }] }
    cluster.put('aksnodeclasses', nodeClassJson('default', { metadata: { annotations }, status }))
    await learnFromTimeout(deps, launch)
    await learnFromTimeout(deps, launch)
    expect(await learnFromRefusal(deps, notFound, launch)).toBeUndefined()
    expect([marked(), images()]).toEqual([['size'], [{ id: fresh, requirements }]])
  })

  test('that was given up a moment ago is launched no more, whatever the class still says', async () => {
    const { deps, cluster, launch: launched } = upgraded()
    await deps.unavailable.markImage({ image: fresh, nodeClass: 'default', reason: 'ImageNotFound', cause: 'gone' })
    expect(cluster.object('aksnodeclasses', 'default')?.status['images']).toEqual([{ id: fresh, requirements }])
    expect(await launched()).toMatchObject({ kind: 'launched', imageId: working })
  })

  test.each([
    ['that a node has proved is not blamed', fresh],
    ['without another version that works is not blamed', '/g/images/2204/versions/202601.01.0'],
  ])('%s', async (_, image) => {
    const { deps, images, marked } = upgraded(image)
    await learnFromTimeout(deps, launch)
    await learnFromTimeout(deps, launch)
    expect(await learnFromRefusal(deps, notFound, launch)).toBeUndefined()
    expect([marked(), images()]).toEqual([['size'], [{ id: fresh, requirements }]])
  })

  test('is left out for a day, then for two, for up to a week, until a Node joins with it', async () => {
    const { deps } = upgraded()
    const days: number[] = []
    for (let time = 0; time < 5; time += 1) {
      await learnFromRefusal(deps, notFound, launch)
      const left = (deps.unavailable.imageMarkOf(fresh.toUpperCase(), 'default')?.untilMs ?? 0) - deps.now()
      days.push(left / 86_400_000)
      vi.setSystemTime(deps.now() + left + 1000)
    }
    expect(days).toEqual([1, 2, 4, 7, 7])
    await learnFromSuccess(deps, launch, 'registered')
    await learnFromRefusal(deps, notFound, launch)
    expect(((deps.unavailable.imageMarkOf(fresh, 'default')?.untilMs ?? 0) - deps.now()) / 86_400_000).toBe(1)
  })
})
