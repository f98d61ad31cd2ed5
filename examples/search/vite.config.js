export default { base: "./" };
