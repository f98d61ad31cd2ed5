// Words of the built-in needle texts: sentences that say nothing about numbers, and names of things.

/** @internal */
export const FILLER: readonly string[] = [
  "A slow train crossed the valley while the mist was still on the fields.",
  "The baker opened his shop before anybody else in the street was awake.",
  "Two herons stood in the shallow water and did not move for a long time.",
  "In the evening the ferry came back with only a handful of passengers.",
  "She folded the map, put it in her pocket, and walked on towards the hills.",
  "The wind had turned, and the boats in the harbor pulled at their ropes.",
  "On the table lay a letter that nobody had wanted to answer.",
  "The path went up between old walls that were covered with moss.",
  "Somebody was practicing the same tune on a piano behind an open window.",
  "When the rain stopped, the children ran out to look for snails.",
  "The library was quiet apart from the ticking of a tall clock.",
  "He told the story again, and this time the dog was larger.",
  "They planted beans along the fence and waited for warmer days.",
  "A carpenter was repairing the stairs of the town hall with great care.",
  "The market closed early because most of the stalls were already empty.",
  "Snow lay on the roofs, but in the gardens it had melted.",
  "The teacher drew a circle on the board and asked what it could be.",
  "From the bridge one could see the chimneys of the old brick works.",
  "An owl called from the wood, and another one answered after a while.",
  "The soup was better than it looked, and everybody took some more.",
  "He had painted the door green, which did not please his neighbors.",
  "The road to the coast was closed, so they stayed for another night.",
  "A girl in a yellow coat was feeding the ducks with bits of bread.",
  "The glass on the shelf trembled whenever a heavy cart went past.",
  "Nobody remembered who had built the tower, or what it was for.",
  "In autumn the whole village helped to bring in the apples.",
  "The captain looked at the sky and decided to leave in the morning.",
  "Her grandmother kept buttons of every color in a tin box.",
  "The mill had stood still for years before the new owners came.",
  "Behind the church there was a small field where goats were grazing.",
  "The postman knew every dog on his way and had a word for each.",
  "A thin line of smoke rose from the cabin at the edge of the forest.",
  "They played cards until the candle was nearly burnt down.",
  "The museum had one room full of maps on which the coast was wrong.",
  "It was so still that one could hear the leaves fall.",
  "The tailor measured the cloth twice before he cut it.",
];

/** @internal */
export const ADJECTIVES: readonly string[] = (
  "copper silver wooden golden crimson purple hollow ancient broken frozen gentle narrow quiet rapid rusty silent " +
  "simple smooth striped sunken velvet woven yellow hidden"
).split(" ");

/** @internal */
export const NOUNS: readonly string[] = (
  "lantern harbor violin anchor basket cannon castle chapel compass curtain engine feather fountain garden hammer island " +
  "ladder mirror orchard parrot saddle tunnel window kettle"
).split(" ");
