// 200 made-up messages to a shop for sailing gear, put together from parts by a fixed rule: the same ones each time.

/** Beginnings, middles and ends of messages about one thing. */
const PARTS = [
  {
    starts: [
      "I was charged twice for",
      "The invoice is wrong for",
      "Please send me the receipt for",
      "My card was refused for",
    ],
    things: ["the last order", "the blue rope", "two life jackets", "the tent I returned", "the yearly plan"],
    ends: [
      "Can I get the money back?",
      "It says 84 instead of 48.",
      "I need it for my taxes.",
      "Nobody has answered my first mail.",
    ],
  },
  {
    starts: [
      "My parcel hasn't arrived:",
      "The parcel was open when it came:",
      "I got the wrong size:",
      "The tracking page shows nothing:",
    ],
    things: ["a sail bag", "sea boots in 43", "ten metres of rope", "a compass", "the winter jacket"],
    ends: ["We leave on Saturday.", "Take your time.", "Where is it now?", "Could you send another one today?"],
  },
  {
    starts: ["The app closes when I open", "I can't save", "Since the update I can't find", "The page stays empty at"],
    things: ["my orders", "the address form", "the map of harbours", "the settings", "the photo of my receipt"],
    ends: [
      "It worked last week.",
      "I tried two phones.",
      "The message is error 502.",
      "This is the third time, fix it now!",
    ],
  },
  {
    starts: ["I forgot the password of", "Please close", "Somebody else uses", "I'd like to change the name of"],
    things: ["my account", "our club's account", "my old account", "the account of my father", "my second account"],
    ends: [
      "The reset mail doesn't come.",
      "There is no hurry.",
      "I'm locked out and need it today.",
      "What do you need from me?",
    ],
  },
  {
    starts: ["Thank you for", "We are very happy with", "The best purchase of the year:", "My children love"],
    things: ["the quick repair", "the life jackets", "the rope", "your friendly help", "the small boat"],
    ends: ["Keep it up!", "We will order again.", "I told my whole club.", "Just wanted to say it."],
  },
  {
    starts: ["Do you sell", "How strong is", "Which size fits for", "Can I rent"],
    mark: "?",
    things: ["ropes by the metre", "the red rope", "a boat of nine metres", "a tent for four", "an anchor"],
    ends: [
      "I found nothing on your page.",
      "A link would be enough.",
      "We plan a trip in May.",
      "Are you open on Sundays?",
    ],
  },
];

const COUNT = 200;

/** One after the other from each kind, and all parts of a kind in turn. */
export const MESSAGES = Array.from({ length: COUNT }, (_, i) => {
  const { starts, things, ends, mark = "." } = PARTS[i % PARTS.length];
  const turn = Math.floor(i / PARTS.length);
  const start = starts[turn % starts.length];
  const thing = things[turn % things.length];
  return `${start} ${thing}${mark} ${ends[(turn + Math.floor(turn / starts.length)) % ends.length]}`;
});
