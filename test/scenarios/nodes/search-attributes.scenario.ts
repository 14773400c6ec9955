import proto from '@temporalio/proto'
import { searchAttributes } from '../../../workflows/search-attributes.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  await world.startWithPool(nodePool(), nodeClass(), deployment({ apart: true, replicas: 2 }))
  await world.untilRunning(2)
})

afterAll(() => world?.stop())

const names = Object.values(searchAttributes).map(({ name }) => name)
const namespace = () => world.temporal.options.namespace
const operator = () => world.temporal.connection.operatorService

const remove = (attributes: readonly string[]) =>
  operator().removeSearchAttributes({ namespace: namespace(), searchAttributes: [...attributes] })

async function known(): Promise<readonly string[]> {
  const { customAttributes } = await operator().listSearchAttributes({ namespace: namespace() })
  return Object.keys(customAttributes)
}

test.each(names)('without %s nodes come and go, and Joiner makes it again', async (name) => {
  const before = await world.list('nodes')
  await remove([name])
  await world.scale('inflate', before.length + 1)
  await world.untilRunning(before.length + 1)
  await world.scale('inflate', before.length)
  const leaving = (await world.list('nodeclaims')).at(-1)?.metadata.name as string
  await world.operator.kubectl(['delete', 'nodeclaim', leaving, '--wait=false'])
  await world.until('it is gone', async () =>
    (await world.list('nodeclaims')).every(({ metadata }) => metadata.name !== leaving),
  )
  await world.until('the attribute is there again', async () => (await known()).includes(name))
})

const { INDEXED_VALUE_TYPE_TEXT, INDEXED_VALUE_TYPE_INT } = proto.temporal.api.enums.v1.IndexedValueType

test.each(Object.entries({ Text: INDEXED_VALUE_TYPE_TEXT, Int: INDEXED_VALUE_TYPE_INT }))(
  'made again as %s, nodes come and go, and Joiner says what is wrong',
  async (_, type) => {
    const [name = ''] = names
    await remove([name])
    await operator().addSearchAttributes({ namespace: namespace(), searchAttributes: { [name]: type } })
    const { length } = await world.list('nodes')
    await world.scale('inflate', length + 1)
    await world.untilRunning(length + 1)
    const [first] = await world.list('nodeclaims')
    await world.operator.kubectl(['delete', 'nodeclaim', first?.metadata.name ?? '', '--wait=false'])
    await world.until('it is gone', async () =>
      (await world.list('nodeclaims')).every(({ metadata }) => metadata.name !== first?.metadata.name),
    )
    await world.untilRunning(length + 1)
    const finding = 'joiner_temporal_findings{fault="search attribute of another type"}'
    await world.until('it is found', async () => (await world.metrics())[finding] === 1)
    await remove([name])
  },
)

test('without any of them, a lifecycle begins and says nothing to lists; it goes on for good', async () => {
  const { length } = await world.list('nodes')
  await remove(names)
  await world.scale('inflate', length + 2)
  await world.untilRunning(length + 2)
  await world.until('all are there again', async () => {
    const found = await known()
    return names.every((name) => found.includes(name))
  })
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
  // Runs begun before, meanwhile and since: each was recorded as the code asks for.
  const histories = [...(await world.histories()).values()]
  const nondeterminism = histories.filter((history) => history.includes('NON_DETERMINISTIC'))
  expect(nondeterminism).toEqual([])
})
