#[query(rights = access::signed_in)]
pub fn profile(ctx: &QueryCtx, user: User) -> Result<Profile> {
    Ok(user.profile)
}

#[mutation(form = in_order(&args), rights = access::member(args.team_id))]
pub fn plan(ctx: &mut MutationCtx, member: Member, args: Plan) -> Result<()> {
    Ok(())
}

#[action(rights = access::member(args.team_id), rate = "mails")]
pub async fn invite(ctx: &ActionCtx, member: Member, _: Invite) -> Result<()> {
    Ok(())
}
